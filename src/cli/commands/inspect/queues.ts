// perdure queues: shows the task queues, and the tasks that no running worker accepts.

import { queueToHttp } from "../../../server/wire/store.ts";
import type { Program } from "../../define-command.ts";
import { dim, yellow } from "../../text/screen.ts";
import { printTable } from "../../text/table.ts";
import { showAge } from "../../text/times.ts";
import { addStoreView } from "./store-view.ts";

export function addQueues(program: Program): void {
  addStoreView(
    program,
    {
      usage: "queues [store]",
      summary: "show the task queues, and tasks that no worker accepts",
      examples: [
        ["perdure queues", "by activity, tags and priority"],
        ["perdure queues --json | jq '.queues[] | select(.unclaimed)'", "tasks without a worker"],
      ],
    },
    {
      read: ({ client }) => client.queues(),
      document: (queues) => ({ queues: queues.map(queueToHttp) }),
      print(queues, screen, session) {
        if (queues.length === 0) {
          screen.line(dim("No activities are waiting or running."));
          return;
        }
        const now = session.provider.now();
        printTable(
          screen,
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
          if (unclaimed !== undefined) screen.line(yellow("! "), unclaimed);
        }
      },
    },
  );
}
