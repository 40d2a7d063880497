// The warning before a restart. A restart runs the code from the start, with new idempotency keys, so
// completed work such as a payment runs a second time. The warning lists that work.

import type { CompletedWork } from "../../client/inspect/completed-work.ts";
import { isPerdureError } from "../../core/errors/errors.ts";
import type { Warning } from "./bulk.ts";
import { plural } from "../text/plural.ts";
import { workText } from "../text/work-text.ts";
import { idsOf, type Selection } from "./selection.ts";
import type { Session } from "../store/session.ts";

/** How many instances the list is made from. For a larger selection the warning says so. */
const LOOKED_AT_MAX = 100;

/** Undefined: none of the selected instances has ended. */
export async function runAgainWarning(
  { client }: Session,
  selection: Selection,
): Promise<Warning | undefined> {
  const found: string[] = [];
  const work: CompletedWork[] = [];
  for await (const id of idsOf(selection, LOOKED_AT_MAX)) {
    const handle = client.get(id);
    try {
      if ((await handle.describe()).completedAt === undefined) continue;
      found.push(id);
      work.push(...(await handle.completedWork()));
    } catch (error) {
      if (!isPerdureError(error, "INSTANCE_NOT_FOUND") && !isUnreadable(error)) throw error;
    }
  }
  const [only] = found;
  if (only === undefined) return undefined;
  const isCut = selection.count > LOOKED_AT_MAX;
  const where = isCut ? ` in the first ${LOOKED_AT_MAX}` : "";
  const repeated =
    work.length === 0
      ? `No activity, step or child has completed${where}.`
      : `Completed work${where} that runs again: ${workText(work)}.`;
  const isOne = found.length === 1 && !isCut;
  const subject = isOne ? `${only} runs` : `${isCut ? "Many" : found.length} instances run`;
  const text = `${subject} again from the start, with new idempotency keys. ${repeated}`;
  if (isCut || found.length !== selection.count) return { text };
  const object = isOne ? only : plural(found.length, "instance");
  return { text, question: `Run ${object} again from the start?` };
}

/** The history cannot be read. The restart itself then reports why. */
function isUnreadable(error: unknown): boolean {
  return isPerdureError(error, "HISTORY_CORRUPT") || isPerdureError(error, "KEY_MISSING");
}
