package org.belfry

import java.security.KeyFactory
import java.security.KeyPairGenerator
import java.security.interfaces.ECPublicKey
import java.security.spec.ECGenParameterSpec
import java.security.spec.ECPoint
import java.security.spec.ECPublicKeySpec
import java.math.BigInteger
import javax.crypto.Cipher
import javax.crypto.KeyAgreement
import javax.crypto.Mac
import javax.crypto.spec.GCMParameterSpec
import javax.crypto.spec.SecretKeySpec

/** What encrypts for a device, written from RFC 8291 and its draft without the code that is tested. */
class Sender(p256dh: String, auth: String) {
    private val receiver = p256dh.fromBase64()!!
    private val secret = auth.fromBase64()!!
    private val pair = KeyPairGenerator.getInstance("EC").apply { initialize(ECGenParameterSpec("secp256r1")) }.generateKeyPair()
    private val point = (pair.public as ECPublicKey).let { byteArrayOf(4) + fixed(it.w.affineX) + fixed(it.w.affineY) }
    private val salt = ByteArray(16) { it.toByte() }

    fun encrypt(text: ByteArray, end: ByteArray = byteArrayOf(2, 0, 0), recordBytes: Int = 4_096): ByteArray {
        val shared = hkdf(secret, agreed(), "WebPush: info\u0000".toByteArray() + receiver + point, 32)
        val sealed = seal(shared, "aes128gcm", ByteArray(0), text + end)
        return salt + byteArrayOf(0, 0, (recordBytes shr 8).toByte(), recordBytes.toByte(), 65) + point + sealed
    }

    /** The message, and its headers `Encryption` and `Crypto-Key`. */
    fun encryptOlder(text: ByteArray, padding: ByteArray = byteArrayOf(0, 3, 0, 0, 0)): Triple<ByteArray, String, String> {
        val shared = hkdf(secret, agreed(), "Content-Encoding: auth\u0000".toByteArray(), 32)
        val context = "P-256\u0000".toByteArray() + byteArrayOf(0, 65) + receiver + byteArrayOf(0, 65) + point
        return Triple(
            seal(shared, "aesgcm", context, padding + text), "keyid=p256dh;salt=" + salt.inBase64(),
            "keyid=p256dh;dh=" + point.inBase64() + ";p256ecdsa=BAAA")
    }

    private fun seal(shared: ByteArray, coding: String, context: ByteArray, text: ByteArray): ByteArray {
        val key = hkdf(salt, shared, "Content-Encoding: $coding\u0000".toByteArray() + context, 16)
        val nonce = hkdf(salt, shared, "Content-Encoding: nonce\u0000".toByteArray() + context, 12)
        val cipher = Cipher.getInstance("AES/GCM/NoPadding")
        cipher.init(Cipher.ENCRYPT_MODE, SecretKeySpec(key, "AES"), GCMParameterSpec(128, nonce))
        return cipher.doFinal(text)
    }

    private fun agreed(): ByteArray {
        val place = ECPoint(BigInteger(1, receiver.copyOfRange(1, 33)), BigInteger(1, receiver.copyOfRange(33, 65)))
        val agreement = KeyAgreement.getInstance("ECDH")
        agreement.init(pair.private)
        agreement.doPhase(KeyFactory.getInstance("EC").generatePublic(ECPublicKeySpec(place, (pair.public as ECPublicKey).params)), true)
        return agreement.generateSecret()
    }

    private fun hkdf(salt: ByteArray, input: ByteArray, information: ByteArray, bytes: Int): ByteArray {
        fun mac(key: ByteArray, text: ByteArray) = Mac.getInstance("HmacSHA256").apply { init(SecretKeySpec(key, "HmacSHA256")) }.doFinal(text)
        return mac(mac(salt, input), information + byteArrayOf(1)).copyOf(bytes)
    }

    private fun fixed(number: BigInteger): ByteArray {
        val bytes = number.toByteArray().dropWhile { it.toInt() == 0 }.toByteArray()
        return ByteArray(32 - bytes.size) + bytes
    }
}
