// The warning before a restart. A restart runs the code from the start, with new idempotency keys, so
// completed work such as a payment runs a second time. The warning lists that work.

import type { CompletedWork } from "../../client/inspect/completed-work.ts";
import type { InstanceInfo } from "../../client/inspect/instance-info.ts";
import { isPerdureError } from "../../core/errors/errors.ts";
import type { Warning } from "./bulk.ts";
import { plural } from "../text/plural.ts";
import type { Selection } from "./selection.ts";
import type { Session } from "../store/session.ts";

/** How many instances the list is made from. For a larger selection the warning says so. */
const LOOKED_AT_MAX = 100;
const NAMES_SHOWN = 20;

/** Undefined: none of the selected instances would run again. */
export async function runAgainWarning(
  { client }: Session,
  selection: Selection,
  isRunAgain: (info: InstanceInfo) => boolean,
): Promise<Warning | undefined> {
  const found: string[] = [];
  const work: CompletedWork[] = [];
  let looked = 0;
  for await (const id of selection.ids()) {
    if (looked++ >= LOOKED_AT_MAX) break;
    const handle = client.get(id);
    try {
      if (!isRunAgain(await handle.describe())) continue;
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
      : `Completed work${where} that runs again: ${listed(work)}.`;
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

function listed(work: readonly CompletedWork[]): string {
  const sums = new Map<string, number>();
  for (const { kind, name, count } of work) {
    const text = `${kind} "${name}"`;
    sums.set(text, (sums.get(text) ?? 0) + count);
  }
  const texts = [...sums].map(([text, sum]) => (sum === 1 ? text : `${text} (${sum} times)`));
  const more = texts.length - NAMES_SHOWN;
  const shown = texts.slice(0, NAMES_SHOWN).join(", ");
  return more > 0 ? `${shown} and ${plural(more, "other name")}` : shown;
}
