// Retry: the instance continues at the failed call, or before a call of its timeline. The preview says what that does.

import { useState, type ReactElement } from "react";
import { instances } from "../../api/endpoints.ts";
import type { Instance } from "../../api/types.ts";
import { useLoaded } from "../../api/use-loaded.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { ProblemNote } from "../../parts/problem-note.tsx";
import { ReasonField } from "../../parts/reason-field.tsx";
import { toast } from "../../parts/toasts.tsx";
import { RewindPreview } from "./rewind-preview.tsx";

export function RewindDialog({
  instance,
  before,
  onDone,
  onClose,
}: {
  readonly instance: Instance;
  /** The event before which the instance continues. Absent: the failure. */
  readonly before?: number | undefined;
  readonly onDone: () => void;
  readonly onClose: () => void;
}): ReactElement {
  const { id, execution } = instance;
  const [reason, setReason] = useState("");
  const [isTree, setIsTree] = useState(false);
  const point = before === undefined ? { to: "failure" } : { before };
  const asked = { ...point, ...(isTree ? { tree: true } : {}) };
  const preview = useLoaded(`rewind ${id} ${execution} ${JSON.stringify(asked)}`, () =>
    instances.rewind(id, { ...asked, dryRun: true }),
  );
  const report = preview.isLoading ? undefined : preview.data;
  const { problem } = preview;
  const isChecked =
    report !== undefined && [report, ...report.others].every(({ check }) => check.kind === "ok");
  const run = async (): Promise<void> => {
    const why = reason.trim() === "" ? {} : { reason: reason.trim() };
    const done = await instances.rewind(id, { ...asked, ...why });
    toast(`${id} continues before event ${done.before}, as execution ${done.execution}.`);
    onDone();
  };
  return (
    <Dialog
      title={before === undefined ? `Retry ${id}?` : `Retry ${id} from event ${before}?`}
      confirm="Retry"
      isReady={problem === undefined && isChecked}
      onConfirm={run}
      onClose={onClose}
    >
      <p>
        {before === undefined
          ? "Continues at the failed call, as the next execution."
          : `Continues before event ${before}, as the next execution.`}{" "}
        Completed work before that point is kept.
      </p>
      {problem?.code === "PARENT_INFORMED" || isTree ? (
        <label className="choice">
          <input
            type="checkbox"
            className="checkbox"
            checked={isTree}
            onChange={() => setIsTree(!isTree)}
          />
          Also rewind the parents, and the failed and cancelled children
        </label>
      ) : null}
      {problem !== undefined ? (
        <ProblemNote problem={problem} retry={preview.refresh} />
      ) : report === undefined ? (
        <p className="muted" role="status">
          Checking the past with the registered code…
        </p>
      ) : (
        <RewindPreview report={report} />
      )}
      <ReasonField reason={reason} onReason={setReason} />
    </Dialog>
  );
}
