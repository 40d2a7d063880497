// The field for the reason of an action. The reason is recorded with the name of the user.

import type { ReactElement } from "react";

const CHARS_MAX = 4_096;

export function ReasonField({
  reason,
  onReason,
  isFocused = false,
}: {
  readonly reason: string;
  readonly onReason: (reason: string) => void;
  readonly isFocused?: boolean;
}): ReactElement {
  return (
    <label className="field">
      <span>Reason</span>
      <input
        className="input"
        autoFocus={isFocused}
        maxLength={CHARS_MAX}
        value={reason}
        onChange={(event) => onReason(event.target.value)}
      />
    </label>
  );
}
