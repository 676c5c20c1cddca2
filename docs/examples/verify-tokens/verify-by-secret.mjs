// Prints the user and the role of a token of Latchkey that JWT_SECRET verifies.
import { jwtVerify } from 'jose'

const secret = Buffer.from(process.env.JWT_SECRET, 'base64')
const { payload } = await jwtVerify(process.argv[2], secret, {
  algorithms: ['HS512'],
  issuer: process.env.API_SERVER,
  requiredClaims: ['exp'],
})
console.log(payload.data.userid, payload.data.role)
