// Asks for confirmation of a bulk action, after counting the instances that it would change, and shows its progress.
//   - The action runs in pages: the bar moves, and closing the dialog stops it after the current page.

import { useEffect, useRef, useState, type ReactElement } from "react";
import { instances } from "../api/endpoints.ts";
import { useLoaded } from "../api/use-loaded.ts";
import { Dialog } from "../parts/dialog.tsx";
import { formatCount, plural } from "../parts/format.ts";
import { ProblemNote } from "../parts/problem-note.tsx";
import { ReasonField } from "../parts/reason-field.tsx";
import { toast } from "../parts/toasts.tsx";
import type { BulkAction } from "./bulk-actions.ts";
import { BulkResult, NO_PROGRESS, withAnswer, type BulkProgress } from "./bulk-result.tsx";
import { isEmptyFilter, type Filter } from "./filter.ts";

/** How many instances one request changes. */
const PAGE = 100;

export function BulkDialog({
  action,
  filter: given,
  onClose,
  onDone,
}: {
  readonly action: BulkAction;
  readonly filter: Filter;
  readonly onClose: () => void;
  readonly onDone: () => void;
}): ReactElement {
  const [reason, setReason] = useState("");
  const [progress, setProgress] = useState<BulkProgress | null>(null);
  const isClosed = useRef(false);
  useEffect(() => {
    isClosed.current = false;
    return () => {
      isClosed.current = true;
    };
  }, []);
  // The selection is cleared when the action is over, while the dialog may still show the refusals.
  const [filter] = useState(() => (isEmptyFilter(given) ? { all: true } : given));
  const [isChosen, setIsChosen] = useState(false);
  const { id, title, does, extra, choice } = action;
  const dry = useLoaded(`dry ${id} ${JSON.stringify(filter)}`, () =>
    instances.bulk(id, { filter, ...extra, dryRun: true }),
  );
  // What is left of the count changes while the action runs: the first count is the size of the work.
  const matched = dry.isLoading ? undefined : dry.data?.matched;
  const run = async (): Promise<void> => {
    const why = action.hasReason && reason.trim() !== "" ? { reason: reason.trim() } : {};
    let now = NO_PROGRESS;
    let cursor: string | undefined;
    setProgress(now);
    do {
      const body = {
        filter,
        ...extra,
        ...(isChosen ? choice?.extra : {}),
        ...why,
        limit: PAGE,
        ...(cursor === undefined ? {} : { cursor }),
      };
      const answer = await instances.bulk(id, body);
      now = withAnswer(now, answer);
      setProgress(now);
      ({ cursor } = answer);
    } while (cursor !== undefined && !isClosed.current);
    const done = `${title}: ${plural(now.applied, "instance")} done.`;
    if (now.refusedCount > 0) {
      toast(`${done} ${plural(now.refusedCount, "instance")} refused.`, "danger");
    } else {
      toast(done);
      onClose();
    }
    onDone();
  };
  return (
    <Dialog
      title={`${title} ${matched === undefined ? "…" : plural(matched, "instance")}?`}
      confirm={matched === undefined ? title : `${title} ${formatCount(matched)}`}
      tone={action.isDangerous ? "danger-fill" : "primary"}
      isReady={matched !== undefined && matched > 0 && progress === null}
      staysOpen
      onConfirm={run}
      onClose={onClose}
    >
      <p>{does}</p>
      {matched === undefined ? (
        <p className="muted" role="status">
          Counting…
        </p>
      ) : (
        <p className="muted" role="status">
          {matched === 0
            ? "None of the selected instances is in a state that allows this."
            : `Applies to ${formatCount(matched)} of the selected instances.`}
        </p>
      )}
      {dry.problem === undefined ? null : <ProblemNote problem={dry.problem} />}
      {progress === null ? null : <BulkResult progress={progress} total={matched ?? 0} />}
      {choice === undefined || progress !== null ? null : (
        <label className="choice">
          <input
            type="checkbox"
            className="checkbox"
            checked={isChosen}
            onChange={() => setIsChosen(!isChosen)}
          />
          {choice.title}
        </label>
      )}
      {action.hasReason && progress === null ? (
        <ReasonField reason={reason} onReason={setReason} />
      ) : null}
    </Dialog>
  );
}
