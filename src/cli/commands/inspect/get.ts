// perdure get: shows an instance, what it waits for, its unread events and its timeline.

import type { Handle } from "../../../client/handle.ts";
import { isPerdureError } from "../../../core/errors/errors.ts";
import type { HistoryEvent } from "../../../core/history/events.ts";
import { timelineOf } from "../../../server/views/timeline.ts";
import { instanceToHttp, treeToHttp } from "../../../server/wire/instance.ts";
import { defineCommand, type Program } from "../../define-command.ts";
import { printInstance } from "../../text/instance-text.ts";
import { wholeNumber } from "../../options/numbers.ts";
import { bold } from "../../text/screen.ts";
import { Session } from "../../store/session.ts";
import { printTimeline } from "../../text/timeline-text.ts";
import { printTree } from "../../text/tree-text.ts";
import { printUnread, readUnread, unreadDocument } from "../../text/unread-text.ts";
import { WorkerLiveness } from "../../text/worker-liveness.ts";

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
        ["perdure get order-7", "show the newest execution"],
        ["perdure get actor-1 --execution 3", "show the timeline of an earlier execution"],
        ["perdure get order-7 --tree", "also show its children"],
        ["perdure get order-7 --json | jq .waitingFor", "in a script"],
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
      const owner = (await session.provider.readInstance(id))?.owner ?? undefined;
      const liveness = await WorkerLiveness.read(session.provider);
      const tree = options.tree === true ? await handle.tree() : undefined;
      if (options.json === true) {
        cli.out.document({
          ...instanceToHttp(info, session.codec),
          ...(owner === undefined ? {} : { heldBy: liveness.document(owner) }),
          unread: unreadDocument(unread),
          ...(options.timeline ? { timeline: { execution, ...timeline } } : {}),
          ...(tree === undefined ? {} : { tree: treeToHttp(tree) }),
        });
        return 0;
      }
      const now = session.provider.now();
      printInstance(cli.out, info, { now, owner, liveness });
      printUnread(cli.out, unread);
      if (timeline.spans.length > 0) {
        cli.out.line();
        const which = execution === info.execution ? "" : ` of execution ${execution}`;
        cli.out.line(bold("Timeline"), which);
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
    .option("--execution <number>", "show the timeline of this execution", wholeNumber(1))
    .option("--no-timeline", "do not show the timeline")
    .option("--tree", "show all descendants");
}

/** Empty for a history that cannot be read. The instance is then blocked, and its block names the reason. */
async function eventsOf(handle: Handle, execution: number): Promise<readonly HistoryEvent[]> {
  try {
    return await handle.history({ execution });
  } catch (error) {
    if (isPerdureError(error, "HISTORY_CORRUPT")) return [];
    throw error;
  }
}
