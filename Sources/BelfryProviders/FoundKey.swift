import BelfryCore
import KeyFiles

/// What was found in a service account in place of the key that is needed, as the end of a sentence; empty where there is no key.
func foundKey(in serviceAccount: String) -> String {
    guard let key = try? JSONValue(json: serviceAccount.utf8)["private_key"]?.stringValue else { return "" }
    return ", but \(PEMFile.words(for: key))"
}
