// Prints the user and the role of a token of Latchkey that JWT_SECRET verifies.
import { jwtVerify } from 'jose'

const { JWT_SECRET = '', API_SERVER = '' } = process.env
const secret = Buffer.from(JWT_SECRET, 'base64')
if (secret.length < 64) throw new Error('JWT_SECRET is not 64 bytes of base64')
const { payload } = await jwtVerify(process.argv[2] ?? '', secret, {
  algorithms: ['HS512'],
  issuer: API_SERVER,
  requiredClaims: ['exp'],
})
const { userid, role } = /** @type {{ userid: string, role: string }} */ (payload.data)
console.log(userid, role)
