export class Base {
  private inherited(): void {}

  /** Comes down. */
  handedDown(word: string): void {
    if (word === '') this.inherited()
  }
}
