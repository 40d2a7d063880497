// Asks for confirmation of a bulk action, after counting the instances that it would change, and shows its progress.
//   - Until the confirmation, the server checks the instances in pages, and the dialog shows those that would be refused.
//   - The action runs in pages: the bar moves, and closing the dialog stops it after the current page.

import { useEffect, useRef, useState, type ReactElement } from "react";
import type { BulkAnswer } from "../api/types.ts";
import { asProblem, type ApiProblem } from "../api/problem.ts";
import { Dialog } from "../parts/dialog.tsx";
import { formatCount, plural } from "../parts/format.ts";
import { ProblemNote } from "../parts/problem-note.tsx";
import { ReasonField } from "../parts/reason-field.tsx";
import { toast } from "../parts/toasts.tsx";
import type { BulkAction } from "./bulk-actions.ts";
import {
  BulkResult,
  NO_PROGRESS,
  Refusals,
  withAnswer,
  type BulkProgress,
} from "./bulk-result.tsx";

/** How many instances one request changes. */
const PAGE = 100;

export function BulkDialog({
  action,
  noun = "instance",
  send,
  onClose,
  onDone,
}: {
  readonly action: Omit<BulkAction, "id" | "role">;
  /** What it changes. */
  readonly noun?: string;
  /** Sends a request with further members: `dryRun`, `limit`, `cursor`, those of the action. */
  readonly send: (body: object) => Promise<BulkAnswer>;
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
  const [isChosen, setIsChosen] = useState(false);
  const { title, does, extra, choice } = action;
  const [dry, setDry] = useState(NO_PROGRESS);
  const [problem, setProblem] = useState<ApiProblem>();
  // What is left of the count changes while the action runs: the first count is the size of the work.
  const [matched, setMatched] = useState<number>();
  const [isStarted, setIsStarted] = useState(false);
  const request = useRef(send);
  useEffect(() => {
    let isOver = isStarted;
    const check = async (): Promise<void> => {
      let now = NO_PROGRESS;
      let cursor: string | undefined;
      do {
        const answer = await request.current({
          ...extra,
          ...(isChosen ? choice?.extra : {}),
          ...{ dryRun: true, limit: PAGE },
          ...(cursor === undefined ? {} : { cursor }),
        });
        if (isOver) return;
        now = withAnswer(now, answer);
        setDry(now);
        setMatched(answer.matched);
        ({ cursor } = answer);
      } while (cursor !== undefined);
    };
    if (!isOver) {
      check().catch((error: unknown) => {
        if (!isOver) setProblem(asProblem(error));
      });
    }
    return () => {
      isOver = true;
    };
  }, [extra, choice, isChosen, isStarted]);
  const run = async (): Promise<void> => {
    const why = action.hasReason && reason.trim() !== "" ? { reason: reason.trim() } : {};
    let now = NO_PROGRESS;
    let cursor: string | undefined;
    setProgress(now);
    setIsStarted(true);
    do {
      const body = {
        ...extra,
        ...(isChosen ? choice?.extra : {}),
        ...why,
        limit: PAGE,
        ...(cursor === undefined ? {} : { cursor }),
      };
      const answer = await send(body);
      now = withAnswer(now, answer);
      setProgress(now);
      ({ cursor } = answer);
    } while (cursor !== undefined && !isClosed.current);
    const done = `${title}: ${plural(now.applied, noun)} done.`;
    if (now.refusedCount > 0) {
      toast(`${done} ${plural(now.refusedCount, noun)} refused.`, "danger");
    } else {
      toast(done);
      onClose();
    }
    onDone();
  };
  return (
    <Dialog
      title={`${title} ${matched === undefined ? "…" : plural(matched, noun)}?`}
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
            ? "None of them is in a state that allows this."
            : `Applies to ${plural(matched, noun)}.`}
        </p>
      )}
      {problem === undefined ? null : <ProblemNote problem={problem} />}
      {progress !== null ? (
        <BulkResult progress={progress} total={matched ?? 0} />
      ) : (
        <Refusals
          title={`${plural(dry.refusedCount, noun)} would be refused${dry.isOver ? "" : ", so far"}`}
          progress={dry}
        />
      )}
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
