import FCM
import HMS

/// Whatever is entered as a service account, of Google or of Huawei, it can be used or is refused with a reason.
func serviceAccounts(_ bytes: [UInt8]) {
    do throws(FCMCredentialsError) {
        let credentials = try FCMCredentials(serviceAccount: bytes)
        precondition(credentials.tokenURLs.allSatisfy { $1.hasPrefix("https://") })
        // They go into a path and into JSON as they are.
        for text in [credentials.projectID] + credentials.tokenURLs.map(\.value) {
            precondition(text.utf8.allSatisfy { 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "\"") })
        }
    } catch {
        precondition(!error.reason.isEmpty)
    }
    do throws(HMSCredentialsError) {
        let credentials = try HMSCredentials(serviceAccount: bytes)
        precondition(credentials.isServiceAccount)
    } catch {
        precondition(!error.reason.isEmpty)
    }
}
