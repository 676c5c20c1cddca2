// Prints the user and the role of a token of Latchkey that the public keys verify.
package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"

	"github.com/golang-jwt/jwt/v5"
)

type claims struct {
	jwt.RegisteredClaims
	Data struct{ Userid, Name, Role string } `json:"data"`
}

// The public keys by their kid.
func fetchKeys(issuer string) (map[string]ed25519.PublicKey, error) {
	response, err := http.Get(issuer + "/.well-known/jwks.json")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var set struct{ Keys []struct{ Kid, Alg, X string } }
	if err := json.NewDecoder(response.Body).Decode(&set); err != nil {
		return nil, err
	}
	keys := map[string]ed25519.PublicKey{}
	for _, key := range set.Keys {
		x, err := base64.RawURLEncoding.DecodeString(key.X)
		if err == nil && key.Alg == "EdDSA" && len(x) == ed25519.PublicKeySize {
			keys[key.Kid] = x
		}
	}
	return keys, nil
}

func main() {
	issuer := os.Getenv("API_SERVER")
	keys, err := fetchKeys(issuer)
	if err != nil {
		log.Fatal(err)
	}
	keyOf := func(token *jwt.Token) (interface{}, error) {
		kid, _ := token.Header["kid"].(string)
		if key, ok := keys[kid]; ok {
			return key, nil
		}
		return nil, errors.New("the token is signed with another key")
	}
	var given claims
	_, err = jwt.ParseWithClaims(os.Args[1], &given, keyOf, jwt.WithValidMethods([]string{"EdDSA"}))
	if err != nil {
		log.Fatal(err)
	}
	if given.Issuer != issuer || given.ExpiresAt == nil {
		log.Fatal("The token is of another issuer, or never expires")
	}
	fmt.Println(given.Data.Userid, given.Data.Role)
}
