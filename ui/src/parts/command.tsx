// A shell command with a copy button.

import type { ReactElement } from "react";
import { CopyButton } from "./copy-button.tsx";

export function Command({ text }: { readonly text: string }): ReactElement {
  return (
    <span className="command">
      <code className="wrap">{text}</code>
      <CopyButton text={text} label={`Copy ${text}`} />
    </span>
  );
}
