// perdure get: an instance, what it waits for, its unread events, and its timeline.

import type { Handle } from "../../client/handle.ts";
import { isPerdureError } from "../../core/errors.ts";
import type { HistoryEvent } from "../../core/history-events.ts";
import { timelineOf } from "../../server/timeline.ts";
import { instanceToHttp, treeToHttp } from "../../server/wire/instance.ts";
import { defineCommand, type Program } from "../define-command.ts";
import { tellInstance } from "../instance-text.ts";
import { wholeNumber } from "../numbers.ts";
import { bold } from "../screen.ts";
import { Session } from "../session.ts";
import { printTimeline } from "../timeline-text.ts";
import { printTree } from "../tree-text.ts";
import { printUnread, readUnread, unreadDocument } from "../unread-text.ts";

interface GetOptions {
  readonly execution?: number;
  readonly timeline: boolean;
  readonly tree?: true;
}

export function addGet(program: Program): void {
  defineCommand<GetOptions>(
    program,
    {
      usage: "get <id>",
      summary: "show an instance: status, what it waits for, unread events, timeline",
      examples: [
        ["perdure get order-7", "all about its newest execution"],
        ["perdure get actor-1 --execution 3", "the timeline of an earlier one"],
        ["perdure get order-7 --tree", "with its children"],
        ["perdure get order-7 --json | jq .waitingFor", "for a script"],
      ],
    },
    async (call) => {
      const { cli, options, args } = call;
      const [id = ""] = args;
      await using session = await Session.open(call, { access: "read" });
      const handle = session.client.get(id);
      const info = await handle.describe();
      const execution = options.execution ?? info.execution;
      const events = options.timeline ? await eventsOf(handle, execution) : [];
      const timeline = timelineOf(events, session.codec);
      const unread = await readUnread(handle);
      const tree = options.tree === true ? await handle.tree() : undefined;
      if (options.json === true) {
        cli.out.document({
          ...instanceToHttp(info, session.codec),
          unread: unreadDocument(unread),
          ...(options.timeline ? { timeline: { execution, ...timeline } } : {}),
          ...(tree === undefined ? {} : { tree: treeToHttp(tree) }),
        });
        return 0;
      }
      const now = session.provider.now();
      tellInstance(cli.out, info, now);
      printUnread(cli.out, unread);
      if (timeline.spans.length > 0) {
        cli.out.line();
        cli.out.line(bold("Timeline"), execution === info.execution ? "" : ` of ${execution}`);
        const isOpen = execution === info.execution && info.completedAt === undefined;
        const from = events[0]?.at ?? now;
        printTimeline(cli.out, timeline, { from, to: isOpen ? now : (events.at(-1)?.at ?? now) });
      }
      if (tree !== undefined) {
        cli.out.line();
        cli.out.line(bold("Tree"));
        printTree(cli.out, tree);
      }
      return 0;
    },
  )
    .option("--execution <number>", "the timeline of another execution", wholeNumber(1))
    .option("--no-timeline", "without the timeline")
    .option("--tree", "with its children and theirs");
}

/** Of a history that cannot be read there is no timeline; the block that it led to says why. */
async function eventsOf(handle: Handle, execution: number): Promise<readonly HistoryEvent[]> {
  try {
    return await handle.history({ execution });
  } catch (error) {
    if (isPerdureError(error, "HISTORY_CORRUPT")) return [];
    throw error;
  }
}
