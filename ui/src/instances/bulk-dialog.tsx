// Asks for confirmation of a bulk action, after counting the instances that it would change.

import { useState, type ReactElement } from "react";
import { instances } from "../api/endpoints.ts";
import type { BulkAnswer } from "../api/types.ts";
import { useLoaded } from "../api/use-loaded.ts";
import { Dialog } from "../parts/dialog.tsx";
import { formatCount, plural } from "../parts/format.ts";
import { ProblemNote } from "../parts/problem-note.tsx";
import { toast } from "../parts/toasts.tsx";
import type { BulkAction } from "./bulk-actions.ts";
import type { Filter } from "./filter.ts";

/** The server's default limit for one bulk operation. */
const BULK_MAX = 10_000;

export function BulkDialog({
  action,
  filter,
  onClose,
  onDone,
}: {
  readonly action: BulkAction;
  readonly filter: Filter;
  readonly onClose: () => void;
  readonly onDone: () => void;
}): ReactElement {
  const [reason, setReason] = useState("");
  const dry = useLoaded(`dry ${action.id} ${JSON.stringify(filter)}`, () =>
    instances.bulk(action.id, { filter, dryRun: true }),
  );
  const matched = dry.isLoading ? undefined : dry.data?.matched;
  const run = async (): Promise<void> => {
    const why = action.hasReason && reason.trim() !== "" ? { reason: reason.trim() } : {};
    const answer = await instances.bulk(action.id, { filter, limit: BULK_MAX, ...why });
    toast(resultText(action, answer), answer.refusedCount > 0 ? "danger" : "good");
    onDone();
  };
  return (
    <Dialog
      title={`${action.title} ${matched === undefined ? "…" : plural(matched, "instance")}?`}
      confirm={matched === undefined ? action.title : `${action.title} ${formatCount(matched)}`}
      tone={action.isDangerous ? "danger-fill" : "primary"}
      isReady={matched !== undefined && matched > 0}
      onConfirm={run}
      onClose={onClose}
    >
      <p>{action.does}</p>
      {matched === undefined ? (
        <p className="muted" role="status">
          Counting…
        </p>
      ) : (
        <p className="muted" role="status">
          {matched === 0
            ? "None of the selected instances is in a state that allows this."
            : `Applies to ${formatCount(matched)} of the selected instances.`}
          {matched > BULK_MAX
            ? ` The oldest ${formatCount(BULK_MAX)} come first; repeat the action for the rest.`
            : ""}
        </p>
      )}
      {dry.problem === undefined ? null : <ProblemNote problem={dry.problem} />}
      {action.hasReason ? (
        <label className="field">
          <span>Reason</span>
          <input
            className="input"
            value={reason}
            maxLength={4_096}
            onChange={(event) => setReason(event.target.value)}
          />
        </label>
      ) : null}
    </Dialog>
  );
}

function resultText(action: BulkAction, { applied, refusedCount, refused }: BulkAnswer): string {
  const done = `${action.title}: ${plural(applied, "instance")} done.`;
  if (refusedCount === 0) return done;
  const [first] = refused;
  const why = first === undefined ? "" : ` First refusal, ${first.id}: ${first.message}`;
  return `${done} ${plural(refusedCount, "instance")} refused.${why}`;
}
