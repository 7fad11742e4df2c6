/// Stores the details of devices beside their rows, and looks devices up by token.
package protocol DeviceDetailStore: Sendable {
    /// The devices that have these tokens now, inactive ones too; tokens without a device are left out.
    func holders(of tokens: [DeviceToken], on platform: Key<Platform>) async throws -> [DeviceToken: TokenHolder]

    func detail(of device: Key<Device>, on platform: Key<Platform>) async throws -> DeviceDetail?
    /// Changes the given details and keeps the rest.
    func setDetail(of device: Key<Device>, on platform: Key<Platform>, _ change: DeviceDetail.Change) async throws

    /// The next rows of the view `genero_tokens` that are of one application.
    func generoTokens(of application: Key<Application>, after id: Int64, limit: Int) async throws -> [GeneroToken]
}
