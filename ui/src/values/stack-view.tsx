// Shows a stack trace: the application's own frames first; a button shows the others.

import { useState, type ReactElement } from "react";
import { plural } from "../parts/format.ts";
import { framesOf } from "./stack.ts";

export function StackView({ stack }: { readonly stack: string }): ReactElement | null {
  const [isWhole, setIsWhole] = useState(false);
  const frames = framesOf(stack);
  if (frames.length === 0) return null;
  const own = frames.filter(({ isOwn }) => isOwn);
  const shown = isWhole || own.length === 0 ? frames : own;
  const hidden = frames.length - shown.length;
  return (
    <div className="stack-trace">
      <ol>
        {shown.map(({ call, source, isOwn }, index) => (
          <li key={index} data-own={isOwn}>
            {call === undefined ? null : <span className="stack-call">{call}</span>}
            <span className="stack-source">{source}</span>
          </li>
        ))}
      </ol>
      {hidden === 0 ? null : (
        <button type="button" className="button" data-size="small" onClick={() => setIsWhole(true)}>
          {plural(hidden, "library frame")}
        </button>
      )}
    </div>
  );
}
