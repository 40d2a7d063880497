// perdure queues: what waits in the task queue, and what of it waits for nobody.

import { queueToHttp } from "../../server/wire/store.ts";
import { defineCommand, type Program } from "../define-command.ts";
import { dim, yellow } from "../screen.ts";
import { Session } from "../session.ts";
import { printTable } from "../table.ts";
import { showAge } from "../times.ts";

export function addQueues(program: Program): void {
  defineCommand(
    program,
    {
      usage: "queues [store]",
      summary: "show what waits in the task queue, and for whom",
      examples: [
        ["perdure queues", "by activity, tags and priority"],
        ["perdure queues --json | jq '.queues[] | select(.unclaimed)'", "what nobody takes"],
      ],
    },
    async (call) => {
      const { cli, options, args } = call;
      await using session = await Session.open(call, { given: args[0], access: "read" });
      const queues = await session.client.queues();
      if (options.json === true) {
        cli.out.document({ queues: queues.map(queueToHttp) });
        return 0;
      }
      if (queues.length === 0) {
        cli.out.line(dim("No activity waits or runs."));
        return 0;
      }
      const now = session.provider.now();
      printTable(
        cli.out,
        [
          { title: "activity", cell: ({ name }) => name },
          { title: "tags", cell: ({ tags }) => tags.join(", ") },
          { title: "priority", cell: ({ priority }) => priority },
          { title: "waiting", cell: ({ waiting }) => waiting },
          { title: "running", cell: ({ running }) => running },
          { title: "delayed", cell: ({ delayed }) => delayed },
          {
            title: "oldest",
            cell: ({ oldestAvailableAt: at }) => (at === null ? "" : showAge(new Date(at), now)),
          },
        ],
        queues,
      );
      for (const { unclaimed } of queues) {
        if (unclaimed !== undefined) cli.out.line(yellow("! "), unclaimed);
      }
      return 0;
    },
  );
}
