#!/usr/bin/env node
// The `perdure` command. In the repository: node src/cli/main.ts
//   MA1. A reader who has seen enough (`| head`) ends the command quietly.
//   MA2. The process ends with the command, whatever a config's modules have left open.
//   MA3. The rest is loaded by import(), behind the cache of compiled code: that is most of a short command's time.

import { enableCompileCache } from "node:module";

enableCompileCache();
// A config may be compiled code: its errors and source lines are told by the source.
process.setSourceMapsEnabled(true);
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    process.exit(error.code === "EPIPE" ? 0 : 1);
  });
}

const { processCli } = await import("./cli.ts");
const { runProgram } = await import("./program.ts");
const code = await runProgram(processCli(), process.argv.slice(2));
await Promise.all([flushed(process.stdout), flushed(process.stderr)]);
process.exit(code);

function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => stream.write("", () => resolve()));
}
