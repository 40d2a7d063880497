// Shows a user's text. A long text is cut; a web address is a link.

import { useState, type ReactElement } from "react";
import { formatCount } from "../parts/format.ts";

const CHARS_FIRST = 600;

export function LongText({ text }: { readonly text: string }): ReactElement {
  const [isWhole, setIsWhole] = useState(false);
  const isCut = !isWhole && text.length > CHARS_FIRST;
  const shown = isCut ? text.slice(0, CHARS_FIRST) : text;
  const address = webAddress(text);
  if (address !== null) {
    return (
      <a
        className="value-leaf"
        data-type="text"
        href={address}
        target="_blank"
        rel="noopener noreferrer"
      >
        {text}
      </a>
    );
  }
  return (
    <span className="value-leaf" data-type="text">
      {JSON.stringify(shown)}
      {isCut ? (
        <button type="button" className="button" data-size="small" onClick={() => setIsWhole(true)}>
          {formatCount(text.length - CHARS_FIRST)} more characters
        </button>
      ) : null}
    </span>
  );
}

function webAddress(text: string): string | null {
  if (text.length > 2_000 || !/^https?:\/\/\S+$/i.test(text)) return null;
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) ? url.href : null;
}
