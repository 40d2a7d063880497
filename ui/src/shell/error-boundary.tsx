// Catches rendering errors of a part of the page. The rest of the page stays usable.

import { Component, type ReactNode } from "react";
import { asProblem } from "../api/problem.ts";
import { ProblemNote } from "../parts/problem-note.tsx";

interface State {
  readonly error: unknown;
}

export class ErrorBoundary extends Component<{ readonly children: ReactNode }, State> {
  override state: State = { error: null };

  static getDerivedStateFromError(error: unknown): State {
    return { error };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return <ProblemNote problem={asProblem(error)} retry={() => this.setState({ error: null })} />;
  }
}
