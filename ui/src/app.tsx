// The application: reads the session, then shows a page or the login.

import { useCallback, useEffect, useRef, useState, type ReactElement } from "react";
import { closeChanges, openChanges } from "./api/changes.ts";
import { session as sessionCalls } from "./api/endpoints.ts";
import { asProblem, type ApiProblem } from "./api/problem.ts";
import { isUnknownCaller, onUnknownCaller } from "./api/request.ts";
import { SessionContext } from "./api/session.ts";
import { takeToken } from "./api/token-in-address.ts";
import type { Session } from "./api/types.ts";
import { forgetLoaded } from "./api/use-loaded.ts";
import { Loading } from "./parts/loading.tsx";
import { ProblemNote } from "./parts/problem-note.tsx";
import { LoginPage } from "./shell/login-page.tsx";
import { Shell } from "./shell/shell.tsx";

type State =
  | { readonly kind: "asking" }
  | { readonly kind: "unknown" }
  | { readonly kind: "known"; readonly session: Session }
  | { readonly kind: "trouble"; readonly problem: ApiProblem };

export function App(): ReactElement {
  const [state, setState] = useState<State>({ kind: "asking" });

  const enter = useCallback(async (token: string | null): Promise<void> => {
    if (token !== null) await sessionCalls.open(token);
    const session = await sessionCalls.read();
    forgetLoaded();
    openChanges();
    setState({ kind: "known", session });
  }, []);

  const ask = useCallback(
    (token: string | null) => {
      setState({ kind: "asking" });
      enter(token).catch((error: unknown) => {
        if (isUnknownCaller(error)) setState({ kind: "unknown" });
        else setState({ kind: "trouble", problem: asProblem(error) });
      });
    },
    [enter],
  );

  const isAsked = useRef(false);
  useEffect(() => {
    if (isAsked.current) return; // React runs effects twice in development; a token can be used only once
    isAsked.current = true;
    onUnknownCaller(() => {
      closeChanges();
      setState({ kind: "unknown" });
    });
    ask(takeToken());
  }, [ask]);

  const leave = useCallback(() => {
    const out = (): void => {
      closeChanges();
      forgetLoaded();
      setState({ kind: "unknown" });
    };
    sessionCalls.close().then(out, out);
  }, []);

  switch (state.kind) {
    case "asking":
      return <Loading />;
    case "unknown":
      return <LoginPage onToken={enter} />;
    case "trouble":
      return (
        <main className="page">
          <ProblemNote problem={state.problem} retry={() => ask(null)} />
        </main>
      );
    case "known":
      return (
        <SessionContext value={state.session}>
          <Shell onLogout={leave} />
        </SessionContext>
      );
  }
}
