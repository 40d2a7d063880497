// Shown for an empty store: how to start the first instance.

import type { ReactElement } from "react";
import { store } from "../api/endpoints.ts";
import { useLoaded } from "../api/use-loaded.ts";
import { Command } from "./command.tsx";
import { Panel } from "./panel.tsx";

const EXAMPLE = `import { orchestration } from "perdure";

export const hello = orchestration("hello", async (ctx, name: string) =>
  ctx.step("greet", () => \`Hello, \${name}!\`),
);`;

export function FirstInstance(): ReactElement {
  const { data: workers = [] } = useLoaded("runtimes", store.runtimes);
  const names = workers
    .filter(({ alive }) => alive)
    .flatMap(({ registered }) => registered?.orchestrations ?? [])
    .map(({ name }) => name);
  const [registered] = names;
  return (
    <Panel title="Start the first instance">
      <p>This store has no instances yet.</p>
      <ol className="first-steps">
        {registered === undefined ? (
          <>
            <li>
              Write an orchestration, and list it under <code>register</code> in{" "}
              <code>perdure.config.ts</code>:<pre className="first-code">{EXAMPLE}</pre>
            </li>
            <li>
              Run a worker: <Command text="npx perdure worker" />
            </li>
            <li>
              Start an instance: <Command text={`npx perdure start hello --input '"Ada"'`} />
            </li>
          </>
        ) : (
          <li>
            A worker runs{" "}
            {[...new Set(names)].slice(0, 5).map((name, index) => (
              <span key={name}>
                {index === 0 ? "" : ", "}
                <strong className="wrap">{name}</strong>
              </span>
            ))}
            . Start an instance: <Command text={`npx perdure start ${registered}`} />
          </li>
        )}
      </ol>
      <p className="first-other">
        Or call <code>client.start</code> in your code, or use the Start button on the page
        Instances.
      </p>
    </Panel>
  );
}
