// The list of keyboard shortcuts.

import { useEffect, useRef, type ReactElement } from "react";
import { SHORTCUTS } from "./shortcuts.ts";

export function ShortcutHelp({ onClose }: { readonly onClose: () => void }): ReactElement {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = ref.current;
    if (dialog !== null && !dialog.open) dialog.showModal();
  }, []);
  return (
    <dialog ref={ref} className="dialog" aria-label="Keyboard shortcuts" onClose={onClose}>
      <form method="dialog">
        <h2>Keyboard shortcuts</h2>
        <dl className="shortcuts">
          {SHORTCUTS.map(({ keys, does }) => (
            <div key={keys}>
              <dt>
                {keys.split(" ").map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </dt>
              <dd>{does}</dd>
            </div>
          ))}
        </dl>
        <div className="dialog-foot">
          <button type="button" className="button" onClick={onClose}>
            Close
          </button>
        </div>
      </form>
    </dialog>
  );
}
