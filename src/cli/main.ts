#!/usr/bin/env node
// The `perdure` command. In the repository: node src/cli/main.ts
//   - If the reader of a pipe closes it (`| head`), the command ends without an error.
//   - The process exits when the command ends, even if a module of the config left a handle open.
//   - The other modules are loaded with import() after the compile cache is on. Loading them takes most of
//        the time of a short command.

import * as modules from "node:module";

// Deno has no such function; it caches compiled modules by itself.
if ("enableCompileCache" in modules) modules.enableCompileCache();
// A config may be compiled code. Source maps make its errors show positions in the original source.
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
