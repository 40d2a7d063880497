// perdure unblock: takes a block away, so that whoever runs the orchestration tries again.

import { addBulkOptions, runBulk, type BulkOptions } from "../bulk.ts";
import { defineCommand, type Program } from "../define-command.ts";

export function addUnblock(program: Program): void {
  const command = defineCommand<BulkOptions>(
    program,
    {
      usage: "unblock [ids...]",
      summary: "take a block away, so that a worker tries again",
      examples: [
        ["perdure unblock order-7", "one instance"],
        ["perdure unblock --name fulfil --yes", "all blocked ones of an orchestration"],
      ],
    },
    (call) =>
      runBulk(call, {
        verb: "unblock",
        past: "unblocked",
        isFinal: false,
        takes: [{ blocked: true }],
        act: ({ client }, id) => client.get(id).unblock(),
      }),
  );
  addBulkOptions(command);
}
