// Whether a run may go on with what its history holds at this place.
//   RM1. In a fork's copied past less is compared (semantics 21a).
//   RM2. A recorded value that cannot be read blocks the run as that, never as a divergence: no other code would help.

import type { CommandBody, HistoryEvent } from "./history-events.ts";
import { sameCommand, sameKindAndName } from "./match.ts";
import { blockUnreadable } from "./run-delivery.ts";
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
