export { default, Renamed as Again } from './exported.ts'
