// What a restart repeats, said before it is done: the code runs from the start, under new idempotency keys, so that
// work that completed, such as a payment, is done a second time.

import type { CompletedWork } from "../client/completed-work.ts";
import type { InstanceInfo } from "../client/instance-info.ts";
import { isPerdureError } from "../core/errors.ts";
import type { Warning } from "./bulk.ts";
import { plural } from "./plural.ts";
import type { Selection } from "./selection.ts";
import type { Session } from "./session.ts";

/** How many instances are read for the list; a larger selection says that the list is of the first ones. */
const LOOKED_AT_MAX = 100;
const NAMES_SHOWN = 20;

/** Undefined: none of the selected instances is run again. */
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
      ? `No activity, step or child completed${where}.`
      : `Completed${where}, and done again: ${listed(work)}.`;
  const isOne = found.length === 1 && !isCut;
  const subject = isOne ? `${only} runs` : `${isCut ? "Many" : found.length} instances run`;
  const text = `${subject} again from the start, under new idempotency keys. ${repeated}`;
  if (isCut || found.length !== selection.count) return { text };
  const object = isOne ? only : plural(found.length, "instance");
  return { text, question: `Run ${object} again from the start?` };
}

/** The restart itself says why. */
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
