// Builds the command line of a `perdure worker` child process from the command line of its parent.

import type { Call } from "../define-command.ts";

export interface WorkerLine {
  readonly grace: string;
  readonly verbose?: true;
}

export function workerArgs({ args, options }: Call<WorkerLine>): readonly string[] {
  const { store, config, json, grace, verbose } = options;
  return [
    ...args,
    ...(store === undefined ? [] : ["--store", store]),
    ...(config === undefined ? [] : config === false ? ["--no-config"] : ["--config", config]),
    ...(json === true ? ["--json"] : []),
    ...(verbose === true ? ["--verbose"] : []),
    ...["--grace", grace],
  ];
}
