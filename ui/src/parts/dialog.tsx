// A modal dialog with a confirm button. It uses the browser's <dialog>: the focus stays inside, Escape closes
// it, and the focus returns to its previous element.

import { useEffect, useId, useRef, useState, type ReactElement, type ReactNode } from "react";
import { asProblem, type ApiProblem } from "../api/problem.ts";
import { ProblemNote } from "./problem-note.tsx";

export function Dialog({
  title,
  confirm,
  tone = "primary",
  isReady = true,
  staysOpen = false,
  onConfirm,
  onClose,
  children,
}: {
  readonly title: string;
  /** The label of the confirm button. */
  readonly confirm: string;
  readonly tone?: "primary" | "danger-fill";
  readonly isReady?: boolean;
  /** Whether the dialog stays open after the confirmed action, to show its result. */
  readonly staysOpen?: boolean;
  /** If it rejects, the dialog stays open and shows the error. */
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
      if (staysOpen) setIsBusy(false);
      else onClose();
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
