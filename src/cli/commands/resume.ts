// perdure resume: lets paused instances go on.

import { addBulkOptions, runBulk, type BulkOptions } from "../bulk.ts";
import { defineCommand, type Program } from "../define-command.ts";

export function addResume(program: Program): void {
  const command = defineCommand<BulkOptions>(
    program,
    {
      usage: "resume [ids...]",
      summary: "let paused instances go on",
      examples: [
        ["perdure resume order-7", "one instance"],
        ["perdure resume --all --yes", "everything that is paused"],
      ],
    },
    (call) =>
      runBulk(call, {
        verb: "resume",
        past: "resumed",
        isFinal: false,
        takes: [{ status: ["paused"] }],
        act: ({ client }, id) => client.get(id).resume(),
      }),
  );
  addBulkOptions(command);
}
