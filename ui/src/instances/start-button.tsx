// The button that opens the start dialog.

import { useState, type ReactElement } from "react";
import { useSession, whyNot } from "../api/session.ts";
import { Icon } from "../parts/icon.tsx";
import { StartDialog } from "./start-dialog.tsx";

export function StartButton(): ReactElement {
  const [isOpen, setIsOpen] = useState(false);
  const refusal = whyNot(useSession(), "operator");
  return (
    <>
      <button
        type="button"
        className="button"
        data-kind="primary"
        disabled={refusal !== null}
        title={refusal ?? undefined}
        onClick={() => setIsOpen(true)}
      >
        <Icon name="plus" />
        Start
      </button>
      {isOpen ? <StartDialog onClose={() => setIsOpen(false)} /> : null}
    </>
  );
}
