"""The records that lie between the stages of a run: what one stage writes to the run's folder, a later one reads.

A folder `runs/<profile>/<run-id>/` holds

    profile.json      the effective profile, every default filled in
    index.json        the body of the request that made the index, with mapping and settings
    run.json          `Run`: what was done, when, and whether what is stored is what was produced
    samples.ndjson    one `Sample` per line, one line per sampling interval
    result.json       `Result`: the metrics of the measured window, with everything needed to judge them
    report.html       the result for a reader

Instants are seconds since the Unix epoch. `None` means "not known", never zero.
"""
