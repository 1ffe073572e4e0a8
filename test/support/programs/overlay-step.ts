import { overlaySteps } from '../../storage/overlay/steps.ts'

const [base = '', what = ''] = process.argv.slice(2)
await overlaySteps(base)[what]?.()
