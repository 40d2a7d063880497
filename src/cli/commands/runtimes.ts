// perdure runtimes: who is there, what they register and how much they hold.

import { runtimeToHttp } from "../../server/wire/store.ts";
import { defineCommand, type Program } from "../define-command.ts";
import { dim, green, red } from "../screen.ts";
import { Session } from "../session.ts";
import { printTable } from "../table.ts";
import { showAge } from "../times.ts";

export function addRuntimes(program: Program): void {
  defineCommand(
    program,
    {
      usage: "runtimes [store]",
      summary: "show who runs what, and who is silent",
      examples: [
        ["perdure runtimes", "every runtime that has registered and not left"],
        ["perdure runtimes --json | jq '.runtimes[].registered'", "what they register"],
      ],
    },
    async (call) => {
      const { cli, options, args } = call;
      await using session = await Session.open(call, { given: args[0], access: "read" });
      const found = await session.client.runtimes();
      const now = session.provider.now();
      const shapes = found.map((runtime) => runtimeToHttp(runtime, now));
      if (options.json === true) {
        cli.out.document({ runtimes: shapes });
        return 0;
      }
      if (shapes.length === 0) {
        cli.out.line(dim("Nobody is there: no runtime is registered."));
        return 0;
      }
      printTable(
        cli.out,
        [
          { title: "id", cell: ({ id }) => id, cut: false },
          { title: "node", cell: ({ nodeId }) => nodeId },
          { title: "alive", cell: ({ alive }) => (alive ? green("yes") : red("silent")) },
          { title: "instances", cell: ({ load }) => load.instances },
          { title: "tasks", cell: ({ load }) => load.tasks },
          { title: "since", cell: ({ startedAt }) => showAge(new Date(startedAt), now) },
          { title: "last beat", cell: ({ lastBeatAt }) => showAge(new Date(lastBeatAt), now) },
          {
            title: "orchestrations",
            cell: ({ registered }) =>
              registered?.orchestrations.map(({ name }) => name).join(", ") ?? "?",
          },
        ],
        shapes,
      );
      return 0;
    },
  );
}
