/** Who may use the one child at the same time: many calls that cannot be asked back, or one that can. */

interface Waiter {
  readonly alone: boolean;
  readonly go: () => void;
}

export class Turns {
  #running = 0;
  #alone = false;
  readonly #waiting: Waiter[] = [];

  /** Waits for a turn, first come first served; the returned function ends it. Rejects with the signal's reason. */
  async take(alone: boolean, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#waiting.length > 0 || !this.#fits(alone)) {
      await new Promise<void>((resolve, reject) => {
        const waiter: Waiter = { alone, go: resolve };
        this.#waiting.push(waiter);
        signal.addEventListener(
          "abort",
          () => {
            const at = this.#waiting.indexOf(waiter);
            if (at === -1) return;
            this.#waiting.splice(at, 1);
            reject(signal.reason);
            this.#next();
          },
          { once: true },
        );
      });
    } else this.#enter(alone);
    let over = false;
    return () => {
      if (over) return;
      over = true;
      this.#running -= 1;
      if (alone) this.#alone = false;
      this.#next();
    };
  }

  #fits(alone: boolean): boolean {
    return alone ? this.#running === 0 : !this.#alone;
  }

  #enter(alone: boolean): void {
    this.#running += 1;
    this.#alone = alone;
  }

  #next(): void {
    for (let first = this.#waiting[0]; first && this.#fits(first.alone); first = this.#waiting[0]) {
      this.#waiting.shift();
      this.#enter(first.alone);
      first.go();
    }
  }
}
