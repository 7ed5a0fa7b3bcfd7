// Prints a project as Compose's own library, compose-go, understands the files that are named: what `docker compose
// config --format json` does, of which only this part is built, within seconds.
package main

import (
	"context"
	"log"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	log.SetFlags(0)
	options, err := cli.NewProjectOptions(
		os.Args[1:], cli.WithOsEnv, cli.WithConfigFileEnv, cli.WithDefaultConfigPath, cli.WithEnvFiles(), cli.WithDotEnv,
		cli.WithDefaultProfiles("*"))
	if err != nil {
		log.Fatal(err)
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	// Their content stands in each service's environment, which is what its container gets.
	project, err = project.WithServicesEnvironmentResolved(true)
	if err != nil {
		log.Fatal(err)
	}
	text, err := project.MarshalJSON()
	if err != nil {
		log.Fatal(err)
	}
	os.Stdout.Write(text)
}
