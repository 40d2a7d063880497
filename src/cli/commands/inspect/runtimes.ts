// perdure runtimes: shows the registered runtimes, what they register, and how much work each one holds.

import { runtimeToHttp } from "../../../server/wire/store.ts";
import type { Program } from "../../define-command.ts";
import { dim, green, red } from "../../text/screen.ts";
import { printTable } from "../../text/table.ts";
import { showAge } from "../../text/times.ts";
import { addStoreView } from "./store-view.ts";

export function addRuntimes(program: Program): void {
  addStoreView(
    program,
    {
      usage: "runtimes [store]",
      summary: "show the runtimes, their work and their last heartbeats",
      examples: [
        ["perdure runtimes", "every registered runtime"],
        ["perdure runtimes --json | jq '.runtimes[].registered'", "what they register"],
      ],
    },
    {
      async read({ client, provider }) {
        const found = await client.runtimes();
        const now = provider.now();
        return { now, shapes: found.map((runtime) => runtimeToHttp(runtime, now)) };
      },
      document: ({ shapes }) => ({ runtimes: shapes }),
      print({ now, shapes }, screen) {
        if (shapes.length === 0) {
          screen.line(dim("No worker is registered."));
          return;
        }
        printTable(
          screen,
          [
            { title: "id", cell: ({ id }) => id, cut: false },
            { title: "node", cell: ({ nodeId }) => nodeId },
            { title: "alive", cell: ({ alive }) => (alive ? green("yes") : red("silent")) },
            { title: "instances", cell: ({ load }) => load.instances },
            { title: "tasks", cell: ({ load }) => load.tasks },
            { title: "since", cell: ({ startedAt }) => showAge(new Date(startedAt), now) },
            { title: "heartbeat", cell: ({ lastBeatAt }) => showAge(new Date(lastBeatAt), now) },
            {
              title: "orchestrations",
              cell: ({ registered }) =>
                registered?.orchestrations.map(({ name }) => name).join(", ") ?? "?",
            },
          ],
          shapes,
        );
      },
    },
  );
}
