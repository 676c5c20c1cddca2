export class Needy {
  readonly zone: string

  constructor(zone: string) {
    this.zone = zone
  }

  run(): void {}

  static still(): void {
    console.log('static')
  }
}
