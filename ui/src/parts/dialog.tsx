// A question that must be answered before going on: the browser's own modal dialog, so that focus stays in it, Escape
// closes it, and focus goes back to where it was.

import { useEffect, useId, useRef, useState, type ReactElement, type ReactNode } from "react";
import { asProblem, type ApiProblem } from "../api/problem.ts";
import { ProblemNote } from "./problem-note.tsx";

export function Dialog({
  title,
  confirm,
  tone = "primary",
  isReady = true,
  onConfirm,
  onClose,
  children,
}: {
  readonly title: string;
  /** What the button says that does it. */
  readonly confirm: string;
  readonly tone?: "primary" | "danger-fill";
  readonly isReady?: boolean;
  /** When it rejects, the dialog stays and says why. */
  readonly onConfirm: () => Promise<void>;
  readonly onClose: () => void;
  readonly children: ReactNode;
}): ReactElement {
  const ref = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  const [isBusy, setIsBusy] = useState(false);
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  useEffect(() => {
    const dialog = ref.current;
    if (dialog !== null && !dialog.open) dialog.showModal();
  }, []);
  const submit = async (): Promise<void> => {
    if (isBusy || !isReady) return;
    setIsBusy(true);
    setProblem(null);
    try {
      await onConfirm();
      onClose();
    } catch (error) {
      setProblem(asProblem(error));
      setIsBusy(false);
    }
  };
  return (
    <dialog ref={ref} className="dialog" aria-labelledby={titleId} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <h2 id={titleId}>{title}</h2>
        {children}
        {problem === null ? null : <ProblemNote problem={problem} />}
        <div className="dialog-foot">
          <button type="button" className="button" onClick={onClose}>
            Close
          </button>
          <button
            type="submit"
            className="button"
            data-kind={tone}
            disabled={!isReady || isBusy}
            aria-busy={isBusy}
          >
            {confirm}
          </button>
        </div>
      </form>
    </dialog>
  );
}
