// Shows a user's value as a tree whose branches open on a click.
//   - Long lists and long texts are cut; a button shows the rest.
//   - An http or https address is a link. The link sends no referrer (S16).

import { useState, type ReactElement } from "react";
import { CopyButton } from "../parts/copy-button.tsx";
import { formatCount } from "../parts/format.ts";
import { LongText } from "./long-text.tsx";
import { briefText, copyTextOf } from "./shown-text.ts";
import { shownOf, type Part, type Shown } from "./shown-value.ts";

const PARTS_FIRST = 100;
const OPEN_DEPTH = 2;
const OPEN_SIZE = 20;

export function ValueView({
  value,
  label,
}: {
  readonly value: unknown;
  readonly label: string;
}): ReactElement {
  return (
    <div className="value">
      <div className="value-tools">
        <CopyButton text={() => copyTextOf(value)} label={`Copy ${label}`} />
      </div>
      <Node shown={shownOf(value)} depth={0} />
    </div>
  );
}

/** The value on one line. */
export function ValueBrief({
  value,
  charsMax = 120,
}: {
  readonly value: unknown;
  readonly charsMax?: number;
}): ReactElement {
  return <span className="mono value-brief">{briefText(shownOf(value), charsMax)}</span>;
}

function Node({ shown, depth }: { readonly shown: Shown; readonly depth: number }): ReactElement {
  if (shown.kind === "leaf") return <Leaf shown={shown} />;
  return <Branch shown={shown} depth={depth} />;
}

function Leaf({ shown }: { readonly shown: Shown & { kind: "leaf" } }): ReactElement {
  if (shown.type === "text") return <LongText text={shown.text} />;
  return (
    <span className="value-leaf" data-type={shown.type}>
      {shown.text}
    </span>
  );
}

function Branch({
  shown,
  depth,
}: {
  readonly shown: Shown & { kind: "branch" };
  readonly depth: number;
}): ReactElement {
  const [isOpen, setIsOpen] = useState(depth < OPEN_DEPTH && shown.size <= OPEN_SIZE);
  const [limit, setLimit] = useState(PARTS_FIRST);
  const [open, close] = shown.brackets;
  if (shown.size === 0) {
    return <span className="value-leaf">{`${shown.title} ${open}${close}`.trim()}</span>;
  }
  const title = shown.title === "" ? null : <span className="value-title">{shown.title} </span>;
  const toggle = (
    <button
      type="button"
      className="value-toggle"
      aria-expanded={isOpen}
      onClick={() => setIsOpen(!isOpen)}
    >
      {title}
      {isOpen ? open : briefText({ ...shown, title: "" }, 60)}
      {isOpen ? null : <span className="value-count">{formatCount(shown.size)}</span>}
    </button>
  );
  if (!isOpen) return toggle;
  const parts = shown.parts();
  const hidden = parts.length - limit;
  return (
    <>
      {toggle}
      <ul className="value-parts">
        {parts.slice(0, limit).map((part, index) => (
          <li key={index}>
            <Name part={part} index={index} />
            <Node shown={part.value} depth={depth + 1} />
          </li>
        ))}
        {hidden <= 0 ? null : (
          <li>
            <button
              type="button"
              className="button"
              data-size="small"
              onClick={() => setLimit(limit * 10)}
            >
              {formatCount(hidden)} more
            </button>
          </li>
        )}
      </ul>
      <span className="value-bracket">{close}</span>
    </>
  );
}

function Name({ part, index }: { readonly part: Part; readonly index: number }): ReactElement {
  const { name } = part;
  if (name === null) return <span className="value-index">{index}: </span>;
  if (typeof name === "string") return <span className="value-name">{name}: </span>;
  return <span className="value-name">{briefText(name, 60)} → </span>;
}
