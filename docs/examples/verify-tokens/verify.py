# Prints the user and the role of a token of Latchkey that the public keys verify.
import os
import sys

import jwt

issuer = os.environ["API_SERVER"]
# Once in a process: it keeps the keys, and fetches them again for a kid that it does not know.
keys = jwt.PyJWKClient(f"{issuer}/.well-known/jwks.json")
token = sys.argv[1]
claims = jwt.decode(
    token,
    keys.get_signing_key_from_jwt(token).key,
    algorithms=["EdDSA", "ES256", "RS256"],
    issuer=issuer,
    options={"require": ["exp", "nbf"]},
)
print(claims["data"]["userid"], claims["data"]["role"])
