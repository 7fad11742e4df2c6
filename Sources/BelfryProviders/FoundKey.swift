import BelfryService
import KeyFiles

/// Describes the key that a service account has in place of the needed one, as the end of a sentence; empty where there is no key.
func foundKey(in serviceAccount: String) -> String {
    guard let key = try? JSONValue(json: serviceAccount.utf8)["private_key"]?.stringValue else { return "" }
    return ", but \(PEMFile.words(for: key))"
}
