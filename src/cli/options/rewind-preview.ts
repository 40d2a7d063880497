// The preview of rewinds: what is kept, what is done again, and what has happened and is not undone.
//   - A worker that has the code makes the preview, so it is made of the first instances only.

import { isPerdureError } from "../../core/errors/errors.ts";
import type { PastWork } from "../../core/repair/preview.ts";
import type { RewindOptions, RewindReport, RewoundInstance } from "../../client/repair/rewind.ts";
import { rewindToHttp } from "../../server/wire/repair.ts";
import { plural } from "../text/plural.ts";
import { workText } from "../text/work-text.ts";
import type { Preview } from "./bulk.ts";
import { idsOf, type Selection } from "./selection.ts";
import type { Session } from "../store/session.ts";

/** How many instances the preview is made of. */
const LOOKED_AT_MAX = 10;

export async function rewindPreview(
  { client }: Session,
  selection: Selection,
  options: RewindOptions,
  /** Whether the command rewinds this instance. */
  isRewound: (id: string) => Promise<boolean>,
): Promise<Preview> {
  const ids = await Array.fromAsync(idsOf(selection, LOOKED_AT_MAX));
  const found = await Promise.all(
    ids.map(async (id) => {
      try {
        if (!(await isRewound(id))) return null;
        return await client.get(id).rewind({ ...options, dryRun: true });
      } catch (error) {
        if (!isPerdureError(error) || error.code === "STORE_UNAVAILABLE") throw error;
        return null; // the rewind itself will be refused, too
      }
    }),
  );
  const reports = found.filter((one) => one !== null);
  const all = reports.flatMap((report): readonly RewoundInstance[] => [report, ...report.others]);
  return {
    lines: linesOf(reports, all, selection),
    warning: warningOf(all),
    facts: { preview: reports.map(rewindToHttp) },
  };
}

function linesOf(
  reports: readonly RewindReport[],
  all: readonly RewoundInstance[],
  { count }: Selection,
): readonly string[] {
  const [first] = reports;
  if (first === undefined) return [];
  const several =
    count > LOOKED_AT_MAX ? `The first ${reports.length}` : plural(reports.length, "instance");
  const where = `goes on before event ${first.before}, as execution ${first.execution}:`;
  const head = count === 1 ? `${first.id} ${where}` : `${several} go on as their next execution:`;
  const list = (what: string, of: (one: RewoundInstance) => readonly PastWork[]) => {
    const work = all.flatMap(of);
    return work.length === 0 ? [] : [`  ${what}: ${workText(work)}`];
  };
  const others = first.others.map(({ id }) => id);
  const returned = all.flatMap((one) => one.returned.map((name) => ({ kind: "event", name })));
  return [
    head,
    ...(count === 1 && others.length > 0 ? [`  together with: ${others.join(", ")}`] : []),
    ...list("kept", ({ kept }) => kept),
    ...list("done again, with the same idempotency keys", ({ redone }) => redone),
    ...(returned.length === 0 ? [] : [`  back in the mailbox: ${workText(returned)}`]),
  ];
}

/** Undefined: nothing happened after the cut, and the code fits. */
function warningOf(all: readonly RewoundInstance[]): Preview["warning"] {
  const happened = all.flatMap((one) => one.happened);
  const compensated = all.flatMap((one) => one.compensated);
  const diverged = all.find(({ check }) => check.kind === "diverged")?.check;
  const texts = [
    ...(happened.length === 0
      ? []
      : [`Happened after that point and may happen again: ${workText(happened)}.`]),
    ...(compensated.length === 0
      ? []
      : [`Compensations that have run and are not undone: ${workText(compensated)}.`]),
    ...(diverged?.kind === "diverged" ? [diverged.message] : []),
  ];
  return texts.length === 0 ? undefined : { text: texts.join(" ") };
}
