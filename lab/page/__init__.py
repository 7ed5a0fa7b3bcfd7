"""The live page: reads what runs write into their folders, shows it in a browser, and starts and stops runs."""
