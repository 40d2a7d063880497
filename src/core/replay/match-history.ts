// Whether the next recorded event of a run matches the command that the code issued.
//   - For events that a fork copied, less is compared (semantics 21a).
//   - A recorded value that cannot be read blocks the run with that reason, not as a divergence: a deploy of
//       other code would not help.

import type { CommandBody, HistoryEvent } from "../history/events.ts";
import { sameCommand, sameKindAndName } from "../history/matching.ts";
import { blockUnreadable } from "./delivery.ts";
import type { Run } from "./run.ts";

export function isRecordedAs(run: Run, recorded: HistoryEvent, asked: CommandBody): boolean {
  const { copiedUntil = 0 } = run.options;
  if (recorded.sequence <= copiedUntil) return sameKindAndName(recorded, asked);
  try {
    return sameCommand(recorded, asked, run.codec);
  } catch (error) {
    blockUnreadable(run, error);
    return false;
  }
}
