package org.belfry.android

import android.security.keystore.KeyGenParameterSpec
import android.security.keystore.KeyProperties
import java.io.IOException
import java.security.GeneralSecurityException
import java.security.InvalidKeyException
import java.security.KeyStore
import java.security.ProviderException
import javax.crypto.AEADBadTagException
import javax.crypto.Cipher
import javax.crypto.KeyGenerator
import javax.crypto.SecretKey
import javax.crypto.spec.GCMParameterSpec
import org.belfry.BelfryError
import org.belfry.Seal

/**
 * Seals with a key that Android's Keystore holds, in hardware where the phone has some. No backup carries it to another phone.
 *
 * The keys for messages are sealed and not held there themselves: the Keystore agrees on keys of P-256 since Android 12 alone.
 */
class KeystoreSeal(private val alias: String = "belfry") : Seal {
    override fun seal(secret: ByteArray): ByteArray = told {
        val cipher = Cipher.getInstance(transformation)
        cipher.init(Cipher.ENCRYPT_MODE, known() ?: make())
        cipher.iv + cipher.doFinal(secret)
    }

    override fun open(sealed: ByteArray): ByteArray? = told {
        val key = known()
        if (key == null || sealed.size < ivBytes) return@told null
        try {
            val cipher = Cipher.getInstance(transformation)
            cipher.init(Cipher.DECRYPT_MODE, key, GCMParameterSpec(128, sealed, 0, ivBytes))
            cipher.doFinal(sealed, ivBytes, sealed.size - ivBytes)
        } catch (error: AEADBadTagException) {
            null
        } catch (error: InvalidKeyException) {
            null
        }
    }

    private fun known(): SecretKey? {
        val store = KeyStore.getInstance(provider)
        store.load(null)
        return store.getKey(alias, null) as? SecretKey
    }

    private fun make(): SecretKey {
        val generator = KeyGenerator.getInstance(KeyProperties.KEY_ALGORITHM_AES, provider)
        generator.init(
            KeyGenParameterSpec.Builder(alias, KeyProperties.PURPOSE_ENCRYPT or KeyProperties.PURPOSE_DECRYPT)
                .setKeySize(256)
                .setBlockModes(KeyProperties.BLOCK_MODE_GCM)
                .setEncryptionPaddings(KeyProperties.ENCRYPTION_PADDING_NONE)
                .build())
        return generator.generateKey()
    }

    /** A Keystore that cannot now may do so later: the keys are not given up for it. */
    private fun <Value> told(work: () -> Value): Value = try {
        work()
    } catch (error: GeneralSecurityException) {
        throw BelfryError.Storage(error.toString())
    } catch (error: ProviderException) {
        throw BelfryError.Storage(error.toString())
    } catch (error: IOException) {
        throw BelfryError.Storage(error.toString())
    }

    private companion object {
        const val provider = "AndroidKeyStore"
        const val transformation = "AES/GCM/NoPadding"
        const val ivBytes = 12
    }
}
