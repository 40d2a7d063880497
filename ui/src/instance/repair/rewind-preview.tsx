// The preview of a rewind: what is kept, what is done again, what happened and is not undone, and the check of the code.

import type { ReactElement } from "react";
import type { RewindReport } from "../../api/types.ts";
import { Icon } from "../../parts/icon.tsx";

const SHOWN = 10;

type Rewound = Omit<RewindReport, "dryRun" | "others">;

export function RewindPreview({ report }: { readonly report: RewindReport }): ReactElement {
  const { others, ...own } = report;
  return (
    <section className="rewind" aria-label="Preview">
      <OneInstance rewound={own} />
      {others.map((other) => (
        <section key={other.id} className="rewind" aria-label={other.id}>
          <h3 className="mono wrap">{other.id}</h3>
          <OneInstance rewound={other} />
        </section>
      ))}
    </section>
  );
}

function OneInstance({ rewound }: { readonly rewound: Rewound }): ReactElement {
  const { before, from, execution, kept, redone, happened, compensated, returned, check } = rewound;
  return (
    <>
      <p className="muted">
        Execution {execution} begins with the events of execution {from} before event {before}.
      </p>
      <Works title="Done again, with the same idempotency keys" works={redone} />
      <Works
        title="Already happened, is not undone, and may happen again"
        works={happened}
        isWarning
      />
      <Works
        title="Compensations that already ran, and are not undone"
        works={compensated}
        isWarning
      />
      <Works title="Kept, and not repeated" works={kept} />
      <Names title="Events that go back to the mailbox" names={returned} />
      {check.kind === "ok" ? (
        <p className="note" data-tone="good">
          <Icon name="check" />
          <span className="grow">The registered code replays this past.</span>
        </p>
      ) : (
        <div className="note" data-tone="danger" role="alert">
          <Icon name="warning" />
          <div className="grow">
            <p>
              The registered code does not replay this past (<strong>{check.code}</strong>). Deploy
              code that does, or choose an earlier point.
            </p>
            <pre className="rewind-diff">{check.message}</pre>
          </div>
        </div>
      )}
    </>
  );
}

function Works({
  title,
  works,
  isWarning = false,
}: {
  readonly title: string;
  readonly works: Rewound["kept"];
  readonly isWarning?: boolean;
}): ReactElement | null {
  const names = works.map(({ kind, name, sequence }) => ({
    key: String(sequence),
    kind,
    name: kind === "timer" ? "" : name,
    place: `event ${sequence}`,
  }));
  return <List title={title} items={names} isWarning={isWarning} />;
}

function Names({
  title,
  names,
}: {
  readonly title: string;
  readonly names: readonly string[];
}): ReactElement | null {
  const items = names.map((name, index) => ({
    key: String(index),
    kind: "event",
    name,
    place: "",
  }));
  return <List title={title} items={items} isWarning={false} />;
}

function List({
  title,
  items,
  isWarning,
}: {
  readonly title: string;
  readonly items: readonly { key: string; kind: string; name: string; place: string }[];
  readonly isWarning: boolean;
}): ReactElement | null {
  if (items.length === 0) return null;
  return (
    <div className="rewind-list" data-tone={isWarning ? "warn" : undefined}>
      <h3>
        {title} <span className="faint">{items.length}</span>
      </h3>
      <ul className="repeated" aria-label={title}>
        {items.slice(0, SHOWN).map(({ key, kind, name, place }) => (
          <li key={key}>
            {kind} <strong className="wrap">{name}</strong> <span className="faint">{place}</span>
          </li>
        ))}
        {items.length <= SHOWN ? null : <li>and {items.length - SHOWN} more</li>}
      </ul>
    </div>
  );
}
