// A button that copies a text and confirms it.

import { useEffect, useState, type ReactElement } from "react";
import { copyText } from "./copy-text.ts";
import { Icon } from "./icon.tsx";

const SHOWN_MS = 1_500;

export function CopyButton({
  text,
  label,
}: {
  readonly text: string | (() => string);
  readonly label: string;
}): ReactElement {
  const [outcome, setOutcome] = useState<"copied" | "failed" | null>(null);
  useEffect(() => {
    if (outcome === null) return undefined;
    const timer = setTimeout(() => setOutcome(null), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [outcome]);
  const copy = async (): Promise<void> => {
    const done = await copyText(typeof text === "string" ? text : text());
    setOutcome(done ? "copied" : "failed");
  };
  return (
    <button
      type="button"
      className="button"
      data-kind="quiet"
      data-size="small"
      aria-label={label}
      title={label}
      onClick={() => void copy()}
    >
      <Icon name={outcome === "copied" ? "check" : "copy"} />
      <span role="status" className="visually-hidden">
        {outcome === null ? "" : outcome === "copied" ? "Copied" : "Copying failed"}
      </span>
    </button>
  );
}
