import APNs
import BelfryCore

/// What was found in a service account in place of the key that is needed, as the end of a sentence; empty where there is no key.
func foundKey(in serviceAccount: String) -> String {
    guard let key = try? JSONValue(json: serviceAccount.utf8)["private_key"]?.stringValue else { return "" }
    return ", but \(PEMContents.words(for: key))"
}
